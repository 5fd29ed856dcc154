"""Soltanolkotabi (2019): information and nuisance in the Jacobian, and why stopping early is robust to wrong labels."""
