"""Jamming transition as a paradigm to understand the loss landscape of deep networks (2019)"""
