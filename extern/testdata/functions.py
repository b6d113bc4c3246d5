"""What the tests of package extern have workers do."""


def double(sample):
    return {"x": 2 * sample["x"]}
