"""Landscape and training regimes in deep learning (2021)"""
