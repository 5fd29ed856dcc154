"""Relative stability toward diffeomorphisms indicates performance in deep nets (2021)"""
