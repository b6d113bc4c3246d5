// Command rows reads rows of a shard at random, and says what one costs.
//
//	rows [-field image.bytes] FILE
//
// For each number of rows on standard input it reads that many, and prints a line of
// JSON: microseconds of CPU a row, and how many bytes were read for how many that were
// used. The first line says what the index cost.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"sort"
	"strconv"
	"strings"
	"syscall"

	"headrace/sample"
	"headrace/shard"
	"headrace/shard/arrowipc"
	"headrace/shard/index"
	"headrace/shard/lines"
	"headrace/shard/parquet"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "rows:", err)
		os.Exit(1)
	}
}

var formats = []shard.Format{parquet.Format{}, arrowipc.Format{}, lines.JSONL{}, lines.CSV{}, lines.Text{}}

// file is a shard on disk.
type file struct {
	*os.File
	size int64
}

func (f file) Size() int64                       { return f.size }
func (f file) Beside(string) (shard.File, error) { return nil, errors.New("nothing is beside") }

func run() error {
	field := flag.String("field", "", "which part of a row is read; all of them, if none is named")
	flag.Parse()
	opened, err := os.Open(flag.Arg(0))
	if err != nil {
		return err
	}
	defer opened.Close()
	info, err := opened.Stat()
	if err != nil {
		return err
	}
	format := formatOf(flag.Arg(0))
	if format == nil {
		return fmt.Errorf("no format has files like %s", flag.Arg(0))
	}

	r := &reader{f: file{opened, info.Size()}, format: format}
	began := cpu()
	if err := format.Scan(context.Background(), r.f, &r.found); err != nil {
		return err
	}
	r.open(*field)
	out := json.NewEncoder(os.Stdout)
	rows := float64(r.found.Len())
	if err := out.Encode(map[string]float64{"rows": rows, "index_us": (cpu() - began) / rows, "blocks": float64(len(r.found.Blocks)) / rows}); err != nil {
		return err
	}
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		n, err := strconv.Atoi(in.Text())
		if err != nil {
			return err
		}
		r.read, r.used = 0, 0
		began := cpu()
		for range n {
			if err := r.row(rand.IntN(r.found.Len())); err != nil {
				return err
			}
		}
		if err := out.Encode(map[string]float64{"us": (cpu() - began) / float64(n), "read": float64(r.read), "used": float64(r.used)}); err != nil {
			return err
		}
	}
	return nil
}

func formatOf(name string) shard.Format {
	for _, f := range formats {
		if slices.ContainsFunc(f.Suffixes(), func(s string) bool { return strings.HasSuffix(name, s) }) {
			return f
		}
	}
	return nil
}

// cpu is the CPU time of the process so far, in microseconds.
func cpu() float64 {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e3
}

// reader reads parts, and counts what it reads.
type reader struct {
	f      file
	format shard.Format
	found  index.Builder
	ends   []int64 // of blocks, unpacked
	field  int     // -1: all

	read, used     int64
	packed, whole  []byte
	value, scratch []byte
	parser         shard.Parser
	want           []sample.Field
	parsed         []shard.Value
}

func (r *reader) open(field string) {
	at := int64(0)
	for _, b := range r.found.Blocks {
		at += b.Size
		r.ends = append(r.ends, at)
	}
	r.field = slices.Index(r.found.Fields, field)
	r.parser, _ = r.format.(shard.Parser)
	if h, ok := r.format.(shard.Headed); ok {
		r.parser, _ = h.With(r.found.Header)
	}
}

func (r *reader) row(i int) error {
	_, parts := r.found.Of(i)
	for _, p := range parts {
		if r.field >= 0 && p.Field != r.field {
			continue
		}
		var err error
		if r.value, err = r.part(r.value[:0], p); err != nil {
			return err
		}
		r.used += p.Len
		if r.found.Fields[p.Field] == "" {
			if err := r.parse(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *reader) parse() error {
	if r.want == nil {
		var err error
		if r.want, err = r.parser.Schema(r.value); err != nil {
			return err
		}
		r.parsed = make([]shard.Value, len(r.want))
	}
	var err error
	r.scratch, err = r.parser.Parse(r.value, r.want, r.parsed, r.scratch[:0])
	return err
}

// near is how far apart blocks may be in the file to be read together.
const near = 4 << 10

// part reads a part: of a file with blocks, all that it is in with one read where they
// are beside each other.
func (r *reader) part(dst []byte, p index.Part) ([]byte, error) {
	if len(r.ends) == 0 {
		dst = slices.Grow(dst, int(p.Len))[:p.Len]
		_, err := r.f.ReadAt(dst, p.At)
		r.read += p.Len
		return dst, err
	}

	i := sort.Search(len(r.ends), func(i int) bool { return r.ends[i] > p.At })
	for n := p.Len; n > 0; {
		// The run of blocks that are read together.
		from, to := r.span(i, p.At, n)
		k, left := i+1, n-(r.ends[i]-p.At)
		for ; left > 0; k++ {
			f, t := r.span(k, r.ends[k-1], left)
			if f < to || f > to+near {
				break
			}
			to, left = t, left-r.found.Blocks[k].Size
		}

		r.packed = slices.Grow(r.packed[:0], int(to-from))[:to-from]
		if _, err := r.f.ReadAt(r.packed, from); err != nil {
			return nil, err
		}
		r.read += to - from
		for ; i < k; i++ {
			b := r.found.Blocks[i]
			skip := p.At - (r.ends[i] - b.Size)
			take := min(n, b.Size-skip)
			if b.Codec == index.Stored {
				dst = append(dst, r.packed[b.At+skip-from:][:take]...)
			} else {
				var err error
				if r.whole, err = r.format.(shard.Unpacker).Unpack(r.whole[:0], b, r.packed[b.At-from:][:b.Len]); err != nil {
					return nil, err
				}
				dst = append(dst, r.whole[skip:skip+take]...)
			}
			p.At += take
			n -= take
		}
	}
	return dst, nil
}

// span is what has to be read of a block for n bytes from at on.
func (r *reader) span(i int, at, n int64) (from, to int64) {
	b := r.found.Blocks[i]
	if b.Codec != index.Stored {
		return b.At, b.At + b.Len
	}
	skip := at - (r.ends[i] - b.Size)
	return b.At + skip, b.At + skip + min(n, b.Size-skip)
}
