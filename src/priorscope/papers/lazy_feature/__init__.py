"""Disentangling feature and lazy training in deep neural networks (2020)"""
