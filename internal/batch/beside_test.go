package batch

import (
	"errors"
	"strings"
	"testing"

	_ "github.com/headrace/headrace/op"
	"github.com/headrace/headrace/op/core"
	"github.com/headrace/headrace/sample"
)

// What travels beside a batch is bounded, since it is one message.
func TestBatchesHaveSoMuchBeside(t *testing.T) {
	l, err := NewLayout(sample.Schema{{Name: "meta", Type: sample.ObjectType}, {Name: "key", Type: sample.TextType}}, Size{Rows: 3})
	if err != nil {
		t.Fatal(err)
	}
	b := &Batch{Slots: &Slots{Layout: &l}, rows: 2}
	for _, values := range [][]string{{"1234567", "", "not of it"}, {"a", "b", "c"}} {
		c := newText(3)
		copy(c.first(3), values)
		b.texts = append(b.texts, c)
	}
	const size = 2*3*4 + 7 + 2
	if err := b.checkBeside(size); err != nil {
		t.Error(err)
	}
	err = b.checkBeside(size - 1)
	if !errors.Is(err, core.ErrConfig) || !strings.Contains(err.Error(), "a batch of 2 rows has 33 B of text and objects, and at most 32 B travel with one: use a smaller batch") {
		t.Error(err)
	}
}
