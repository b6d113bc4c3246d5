package lookup_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/shard"
	_ "github.com/headrace/headrace/shard/formats"
	"github.com/headrace/headrace/shard/lookup"
	"github.com/headrace/headrace/tensor"
)

func open(t *testing.T, text string) *shard.Dataset {
	t.Helper()
	path := filepath.Join(t.TempDir(), "a.csv")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("HEADRACE_CACHE", t.TempDir())
	d, err := shard.Open(t.Context(), []string{path}, shard.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

var columns = []shard.Column{{From: "price", Type: sample.TensorType(tensor.Float32)}, {From: "title"}}

// Keys that are close to each other, far apart, and text.
func TestRowsAreFoundByTheirKeys(t *testing.T) {
	for _, key := range []func(i int) string{
		func(i int) string { return fmt.Sprint(i - 50) },
		func(i int) string { return fmt.Sprint((i - 50) << 50) },
		func(i int) string { return fmt.Sprintf("k%d", i) },
	} {
		table, events := "item,price,title\n", "n,item\n"
		for i := range 100 {
			table += fmt.Sprintf("%s,%d.5,title %d\n", key(i), i, i)
			events += fmt.Sprintf("%d,%s\n", i, key(7*i%100))
		}
		of, err := lookup.Read(t.Context(), open(t, table), shard.Column{From: "item"}, columns, false, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		j, err := of.Join(t.Context(), open(t, events), shard.Column{From: "item"}, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		gather, err := j.Open([]lookup.Column{{Of: 1, To: 0}, {Of: 0, To: 1}})
		if err != nil {
			t.Fatal(err)
		}

		samples, texts, prices := []int64{99, 0, 3, 3}, sample.Texts{}, make([]byte, 16)
		if _, err := gather(t.Context(), samples, []shard.Target{{Texts: &texts}, {Data: prices}}); err != nil {
			t.Fatal(err)
		}
		all := string(texts.Bytes)
		for k, i := range samples {
			row, _, err := j.Row(t.Context(), i)
			if err != nil || row != int(7*i%100) {
				t.Errorf("%s of sample %d: row %d, %v", key(int(7*i%100)), i, row, err)
			}
			title := fmt.Sprintf("title %d", row)
			if got := string(j.Value(1, row).Bytes); got != title || !strings.HasPrefix(all, title) {
				t.Errorf("sample %d: %q alone, %q in a batch, want %q", i, got, all, title)
			}
			all = all[len(title):]
			price := binary.NativeEndian.Uint32(j.Value(0, row).Bytes)
			if got := binary.NativeEndian.Uint32(prices[4*k:]); got != price {
				t.Errorf("sample %d: %x alone, %x in a batch", i, price, got)
			}
		}
	}
}

func TestKeysThatTheTableDoesNotHave(t *testing.T) {
	table, events := open(t, "item,price,title\n1,2.5,a\n3,4.5,b\n"), open(t, "item\n3\n2\n")
	for _, nulls := range []bool{false, true} {
		of := columns
		if nulls {
			of = []shard.Column{columns[0], {From: "title", Null: &shard.Null{Text: "none", Quoted: true}}}
		}
		read, err := lookup.Read(t.Context(), table, shard.Column{From: "item"}, of, nulls, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		j, err := read.Join(t.Context(), events, shard.Column{From: "item"}, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		gather, err := j.Open([]lookup.Column{{Of: 1, To: 0}})
		if err != nil {
			t.Fatal(err)
		}
		var texts sample.Texts
		_, err = gather(t.Context(), []int64{0, 1}, []shard.Target{{Texts: &texts}})
		switch bad := (*shard.RowError)(nil); {
		case nulls:
			if err != nil || string(texts.Bytes) != "bnone" {
				t.Errorf("%q, %v", texts.Bytes, err)
			}
		case !errors.As(err, &bad) || bad.Row != 1 || !strings.Contains(err.Error(), "has no row for the key 2"):
			t.Errorf("%v: want one about the second sample", err)
		}
	}
}

func TestATableThatCannotBeLookedUp(t *testing.T) {
	for text, says := range map[string]string{
		"item,price,title\n1,2.5,a\n2,1,b\n1,1,c\n": "two rows have the same key, 1",
		"item,price,title\n0.5,2.5,a\n":             "a key is a whole number or text",
		"item,price\n1,2\n":                         `no such field: "title"`,
	} {
		_, err := lookup.Read(t.Context(), open(t, text), shard.Column{From: "item"}, columns, false, 1<<20)
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want %s", text, err, says)
		}
	}
}
