"""What breaks the curse of dimensionality in deep learning? (2021)"""
