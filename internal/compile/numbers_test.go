package compile

import (
	"testing"

	"headrace/internal/record"
	"headrace/tensor"
)

// Numbers of any type choose branches.
func TestNumbersOfAnyTypeChooseBranches(t *testing.T) {
	var numbers [8]byte
	for d, want := range map[tensor.DType]int64{
		tensor.Uint8: 255, tensor.Int8: -1, tensor.Uint16: 65535, tensor.Int16: -1, tensor.Uint32: 1<<32 - 1, tensor.Int32: -1, tensor.Int64: -1,
	} {
		for i := range numbers {
			numbers[i] = 0xff
		}
		v := &record.Values{Numbers: numbers[:]}
		if n, ok := v.Integer(record.Column{Kind: 1}, d); !ok || n != want {
			t.Errorf("%v: %d, expected %d", d, n, want)
		}
	}
	v := &record.Values{Numbers: numbers[:]}
	if n, ok := v.Integer(record.Column{}, tensor.Uint64); ok {
		t.Errorf("2⁶⁴-1 is %d", n)
	}
	if text := shown(v, record.Column{Kind: 1}, tensor.Uint64); text != "18446744073709551615" {
		t.Error(text)
	}
}
