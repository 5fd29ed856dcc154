"""The verdicts of profiles held against predictors trained on all samples."""
