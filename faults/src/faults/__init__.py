"""Faults for functions of priorscope, one at a time: which of them do neither the recorded calls nor the nearest tests notice?"""
