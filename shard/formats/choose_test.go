package formats_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/headrace/headrace/internal/oracle"
	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/shard/index"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/storetest"
)

const sorted = `
import io
import pyarrow as pa
import pyarrow.parquet as pq

def write(args):
    texts = [None if i % 1000 == 500 and args["nulls"] else f"{i:06d} " + "x" * 30 for i in range(20000)]
    out = io.BytesIO()
    pq.write_table(pa.table({"n": range(20000), "text": texts}), out, row_group_size=2000, use_dictionary=args["dictionary"])
    return "", out.getvalue()
`

// What numbers or the statistics of a file rule out is not read.
func TestRowsThatCannotMatchAreNotRead(t *testing.T) {
	for _, nulls := range []bool{false, true} {
		for _, dictionary := range []bool{false, true} {
			t.Setenv(index.Variable, t.TempDir())
			var none string
			blobs := oracle.Run(t, sorted, "write", map[string]any{"nulls": nulls, "dictionary": dictionary}, &none)
			root, scheme := t.TempDir(), fmt.Sprintf("rows-%v-%v", nulls, dictionary)
			if err := os.WriteFile(filepath.Join(root, "a.parquet"), blobs[0], 0o644); err != nil {
				t.Fatal(err)
			}
			m, size := new(storetest.Memory), int64(len(blobs[0]))
			if err := m.PutAll("bucket/", os.DirFS(root)); err != nil {
				t.Fatal(err)
			}
			store.Register(scheme, m)
			d, err := shard.Open(t.Context(), []string{scheme + "://bucket/a.parquet"}, shard.Options{})
			if err != nil {
				t.Fatal(err)
			}
			defer d.Close()

			for _, c := range []struct {
				rows        string
				first, n    int64
				most, least int64 // bytes that are read
			}{
				{"n == 3000", 3000, 1, 0, 0},
				{"n > 19000", 19001, 999, 0, 0},
				{"n is null or 5 <= n < 7", 5, 2, 0, 0},
				{"text >= '003000' and text < '003001'", 3000, 1, size / 3, 1},
				{"text in ('003000 " + strings.Repeat("x", 30) + "', 'x')", 3000, 1, size / 4, 1},
				{"text == '1'", 0, 0, size / 8, 1},
				{"text >= '1' or n == 7", 7, 1, size / 8, 1},
				{"n < 10 and text != 'x'", 0, 10, size / 4, 0},
				{"not text >= '0030' and n != 0", 1, 2999 - 3*map[bool]int64{true: 1}[nulls], size, 1},
			} {
				before := m.Read()
				rows, err := d.Choose(t.Context(), c.rows, 1<<20)
				if err != nil {
					t.Fatal(err)
				}
				if rows.Len() != c.n || c.n > 0 && rows.At(0) != c.first {
					t.Errorf("%s: %d rows", c.rows, rows.Len())
				}
				if read := m.Read() - before; read > c.most || read < c.least {
					t.Errorf("%s, nulls %v, dictionary %v: %d bytes of %d are read", c.rows, nulls, dictionary, read, size)
				}
				d.KeepBlocks(0)
			}
		}
	}
}
