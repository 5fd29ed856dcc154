"""What a system cannot learn, or learns last."""
