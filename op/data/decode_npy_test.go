package data_test

import (
	"strings"
	"testing"

	opdata "github.com/headrace/headrace/op/data"
	"github.com/headrace/headrace/sample"
)

// The dtypes that a file may have are those that arrays have, and a near miss is named.
func TestDTypesOfArrays(t *testing.T) {
	in := sample.Schema{{Name: "key", Type: sample.TextType}, {Name: "bytes", Type: sample.BytesType}}
	for dtype, want := range map[string]string{
		"int32": "", "bfloat16": "", "bool": "",
		"int23":  `is "int23": did you mean "int32"?`,
		"string": `is "string": must be "bool", "uint8", "int8"`,
	} {
		_, err := (&opdata.DecodeNPY{Field: "bytes", DType: dtype}).Check(in)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", dtype, err, want)
		}
	}
}
