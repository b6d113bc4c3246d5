// Package oracle asks a Python with Pillow, NumPy and torchvision for the results that
// tests compare with.
//
// One Python process per test binary is started at the first question and ends with the
// binary. The interpreter is $HEADRACE_PYTHON, else .venv/bin/python of this
// repository. If there is none, or something is missing in it, the test fails and says
// what to run: a test that is left out silently proves nothing.
package oracle
