"""Interfaces of other libraries, carried out by Headrace."""
