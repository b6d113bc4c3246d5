// Command packing packs sequences of given lengths into rows, and says how many rows it
// took and how long.
//
//	packing -length 2048 -open 64 -fit first < LENGTHS
//	packing -length 2048 -open 8 -lanes 64 < LENGTHS
//
// LENGTHS are int32, little-endian. A row becomes what a model is given: int32 tokens,
// segment ids and positions of the row's length. With -lanes nothing is written: each
// lane packs its share of the sequences.
package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"iter"
	"os"
	"time"

	"github.com/headrace/headrace/group"
	"github.com/headrace/headrace/pipe"
)

func main() {
	if err := run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "packing:", err)
		os.Exit(1)
	}
}

// sequences is the source: the same tokens, cut to each length.
type sequences struct {
	lengths []int32
	tokens  []int32
}

// Items implements [pipe.Source].
func (s sequences) Items(_ context.Context, _ int, pos int64) iter.Seq2[[]int32, error] {
	return func(yield func([]int32, error) bool) {
		for _, n := range s.lengths[pos:] {
			if !yield(s.tokens[:n], nil) {
				return
			}
		}
	}
}

// rowOf is what a model is given.
type rowOf struct{ tokens, segments, positions []int32 }

func run(ctx context.Context) error {
	o := group.PackOpts{}
	fit := flag.String("fit", "best", `"best" or "first"`)
	flag.IntVar(&o.Length, "length", 2048, "of a row")
	flag.IntVar(&o.Open, "open", 0, "rows that are filled at once; 0: as many as usual")
	lanes := flag.Int("lanes", 0, "that pack their shares; 0: rows are written")
	flag.Parse()
	if *fit == "first" {
		o.Fit = group.FirstFit
	}

	s, err := read(os.Stdin, o.Length)
	if err != nil {
		return err
	}
	if *lanes > 0 {
		return inLanes(ctx, s, *lanes, o)
	}

	begin, err := group.Pack(func(tokens []int32) int { return len(tokens) }, o)
	if err != nil {
		return err
	}
	packed := pipe.Aggregate(pipe.From("sequences", s), begin, pipe.AggregateOpts{Name: "pack"})
	write := func(_ context.Context, r group.Row[[]int32]) (rowOf, error) { return written(r, o.Length), nil }
	rows := pipe.Map(packed, write, pipe.Opts{Name: "write", Ordered: true})

	begun := time.Now()
	running, err := pipe.Start(ctx, rows, pipe.Config{})
	if err != nil {
		return err
	}
	defer running.Close()
	count, tokens := 0, 0
	for r, err := range running.All() {
		if err != nil {
			return err
		}
		count++
		for _, id := range r.segments {
			if id > 0 {
				tokens++
			}
		}
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]any{"rows": count, "tokens": tokens, "seconds": time.Since(begun).Seconds()})
}

func read(r io.Reader, most int) (sequences, error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return sequences{}, err
	}
	if len(text)%4 != 0 {
		return sequences{}, errors.New("lengths are four bytes each")
	}
	s := sequences{lengths: make([]int32, len(text)/4), tokens: make([]int32, most)}
	for i := range s.lengths {
		s.lengths[i] = int32(binary.LittleEndian.Uint32(text[4*i:]))
		if n := int(s.lengths[i]); n < 1 || n > most {
			return sequences{}, fmt.Errorf("a length of %d", n)
		}
	}
	return s, nil
}

func written(r group.Row[[]int32], length int) rowOf {
	out := rowOf{make([]int32, length), make([]int32, length), make([]int32, length)}
	for i, s := range r.Segments {
		copy(out.tokens[s.Offset:], s.Item)
		for k := range s.Length {
			out.segments[s.Offset+k] = int32(i + 1)
			out.positions[s.Offset+k] = int32(k)
		}
	}
	return out
}
