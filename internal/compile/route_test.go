package compile

import (
	"bytes"
	"testing"

	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/tensor"
)

func TestNumbersBeyondInt64AreShown(t *testing.T) {
	v := &record.Values{Numbers: bytes.Repeat([]byte{0xff}, 8)}
	if text := shown(v, record.Column{Kind: record.Numbers}, tensor.Uint64); text != "18446744073709551615" {
		t.Error(text)
	}
}
