package sample_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/headrace/headrace/sample"
)

func TestOutputsAreNumbers(t *testing.T) {
	for text, numbers := range map[sample.Output][]int64{"": nil, "3": {3}, "3.1": {3, 1}, "0.0.12": {0, 0, 12}} {
		if got := sample.Numbered(numbers...); got != text {
			t.Errorf("%v is %q, want %q", numbers, got, text)
		}
		if got := text.Numbers(); !slices.Equal(got, numbers) {
			t.Errorf("%q is %v, want %v", text, got, numbers)
		}
	}
}

func TestErrorsNameTheOutput(t *testing.T) {
	bad := errors.New("no good")
	for want, e := range map[string]*sample.Error{
		`sample "a.jpg" (index 17): no good`:             {Key: "a.jpg", Index: 17, Err: bad},
		`sample "a.jpg" (index 17, output 3): no good`:   {Key: "a.jpg", Index: 17, Output: "3", Err: bad},
		`sample "a.jpg" (index 17, output 3.1): no good`: {Key: "a.jpg", Index: 17, Output: "3.1", Err: bad},
	} {
		if got := e.Error(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
