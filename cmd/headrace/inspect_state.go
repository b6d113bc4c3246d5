package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/bytesize"
	"github.com/headrace/headrace/internal/words"
	"github.com/headrace/headrace/order"
	"github.com/headrace/headrace/recipe"
)

// isState tells whether a file is meant to be a loader's state, and no recipe.
func isState(name string) bool {
	if !strings.HasSuffix(name, ".json") {
		return false
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return false
	}
	var records []map[string]json.RawMessage
	if json.Unmarshal(text, &records) != nil {
		var one map[string]json.RawMessage
		if json.Unmarshal(text, &one) != nil {
			return false
		}
		records = append(records, one)
	}
	for _, r := range records {
		for _, key := range []string{"sources", "epoch", "rank", "world_size"} {
			if _, ok := r[key]; ok {
				return true
			}
		}
	}
	return false
}

// inspectedState describes a state, or those of several ranks. Its JSON form is stated in
// docs/guide/bench-and-inspect.md.
type inspectedState struct {
	Epoch     int            `json:"epoch"`
	Batches   int64          `json:"batches"` // of the epoch so far
	WorldSize int            `json:"world_size"`
	InStep    bool           `json:"in_step"` // that of one rank says where all are
	Version   int            `json:"version"`
	Order     int            `json:"order"`
	Recipe    string         `json:"recipe"`
	Steps     []string       `json:"steps"`
	Decoder   string         `json:"decoder"`
	Again     int64          `json:"again"`       // samples that a restore reads again before it goes on
	Bytes     *int64         `json:"again_bytes"` // of these; nil: not known
	Ranks     []inspectedLot `json:"ranks"`
}

// inspectedLot describes the place of a rank.
type inspectedLot struct {
	Rank       int               `json:"rank"`
	Sources    []inspectedSource `json:"sources"`
	Parts      int               `json:"parts"` // samples of which some that were made are given, and others not
	Quarantine []int64           `json:"quarantine"`
}

// inspectedSource describes the place of a source, or of a lane of one.
type inspectedSource struct {
	key      string
	Name     string `json:"name"`
	Lane     int    `json:"lane"` // -1: the source has none
	Samples  int64  `json:"samples"`
	Position int64  `json:"position"` // all before it is given, lost or left out
	Beyond   int64  `json:"beyond"`   // given samples after that
	Again    int64  `json:"again"`    // samples that were read and are held in no batch yet, or an object gives again
	Bytes    *int64 `json:"again_bytes"`
	Lost     int    `json:"lost"`
}

// inspectState tells what a restore of states does before its first batch. With a recipe
// it says whether the states are of that.
func inspectState(ctx context.Context, name string, f *recipe.File, c headrace.Config, asJSON bool, out io.Writer) error {
	records, err := readStates(name)
	if err != nil {
		return wrongUse(errors.New(strings.TrimPrefix(err.Error(), "--state ")))
	}
	told := newInspectedState(records)
	wrong := readable(records)
	if wrong == nil && f != nil {
		wrong = told.beside(ctx, records, *f, c)
	}

	// What is in a state is shown even if it cannot be gone on with.
	if asJSON {
		err = printJSON(out, told)
	} else {
		p := newPage(out)
		told.draw(p)
		_, err = io.WriteString(out, p.text.String())
	}
	if err == nil {
		err = wrong
	}
	return err
}

// readable refuses records of another version.
func readable(records []headrace.State) error {
	for _, r := range records {
		switch {
		case r.Version != headrace.StateVersion:
			return wrongUse(fmt.Errorf("the state of rank %d has version %d, and this engine reads %d: "+
				"go on with the release that saved it, or begin at an epoch", r.Rank, r.Version, headrace.StateVersion))
		case r.Order != order.Version:
			return wrongUse(fmt.Errorf("the state of rank %d has version %d of the order, and this engine has %d: "+
				"go on with the release that saved it, or begin at an epoch", r.Rank, r.Order, order.Version))
		}
	}
	return nil
}

// beside says why states are not of a recipe, or finds out how many bytes are read again.
// Nothing runs.
func (i *inspectedState) beside(ctx context.Context, records []headrace.State, f recipe.File, c headrace.Config) error {
	c.WorldSize, c.Rank, c.Epochs = records[0].WorldSize, records[0].Rank, nil
	c.Agree = c.StepsPerEpoch == nil && !c.Uneven
	l, err := headrace.Open(ctx, f.Recipe, c, headrace.Options{Look: true})
	if err != nil {
		return f.Locate(err)
	}
	defer l.Close()
	if _, err = l.Gather(records); err != nil {
		if errors.Is(err, headrace.ErrState) {
			err = wrongUse(err)
		}
		return err
	}

	i.Bytes = new(int64)
	for n, r := range records {
		known := l.Again(r)
		for k := range i.Ranks[n].Sources {
			s := &i.Ranks[n].Sources[k]
			if bytes, ok := known[s.key]; ok {
				s.Bytes = &bytes
			}
			i.Bytes = sum(i.Bytes, s.Bytes)
		}
	}
	return nil
}

// sum is nil if one of the numbers is.
func sum(a, b *int64) *int64 {
	if a == nil || b == nil {
		return nil
	}
	return new(*a + *b)
}

func newInspectedState(records []headrace.State) inspectedState {
	first := records[0]
	told := inspectedState{
		Epoch: first.Epoch, Batches: first.Batches, WorldSize: first.WorldSize, InStep: first.InStep, Version: first.Version,
		Order: first.Order, Recipe: first.Recipe, Steps: append([]string{}, first.Steps...), Decoder: first.Decoder,
	}

	for _, r := range records {
		lot := inspectedLot{Rank: r.Rank, Sources: []inspectedSource{}, Parts: len(r.Parts), Quarantine: append([]int64{}, r.Quarantine...)}
		for key, at := range r.Sources {
			s := inspectedSource{key: key, Name: key, Lane: -1, Samples: at.Samples, Position: at.Position, Lost: len(at.Lost)}
			if name, lane, ok := strings.Cut(key, "@"); ok {
				s.Name = name
				s.Lane, _ = strconv.Atoi(lane)
			}
			for _, given := range at.Ahead {
				s.Beyond += given[1] - given[0]
			}
			if n := len(at.Ahead); n > 0 {
				s.Again = at.Ahead[n-1][1] - at.Position - s.Beyond
			}
			if at.Object != nil { // what came since it told its state
				s.Again += at.Position - at.Object.Position
			}
			told.Again += s.Again
			lot.Sources = append(lot.Sources, s)
		}

		slices.SortFunc(lot.Sources, func(a, b inspectedSource) int {
			if a.Name != b.Name {
				return strings.Compare(a.Name, b.Name)
			}
			return a.Lane - b.Lane
		})
		told.Ranks = append(told.Ranks, lot)
	}
	return told
}

// draw writes it for people: a line for each source, with all its lanes.
func (i inspectedState) draw(p *page) {
	p.line("", p.bold, fmt.Sprintf("Epoch %d, after %s", i.Epoch, words.Plural(i.Batches, "batch")))
	for _, step := range i.Steps {
		text, _ := strings.CutSuffix(step, step[strings.LastIndex(step, " ")+1:]) // its digest
		p.line("  ", p.dim, strings.TrimSpace(text))
	}

	for _, lot := range i.Ranks {
		p.line("", p.bold, fmt.Sprintf("Rank %d of %d", lot.Rank, i.WorldSize))
		for from := 0; from < len(lot.Sources); {
			to := from + 1
			for to < len(lot.Sources) && lot.Sources[to].Name == lot.Sources[from].Name {
				to++
			}
			p.line("  ", plainInk, sourceLine(lot.Sources[from:to]))
			from = to
		}
		if lot.Parts > 0 {
			p.line("  ", plainInk, words.Plural(int64(lot.Parts), "sample")+" partly given: what was made of them is made again")
		}
		if n := len(lot.Quarantine); n > 0 {
			p.line("  ", plainInk, words.Plural(int64(n), "sample")+" never tried again, for they crashed an engine")
		}
	}

	if i.Again == 0 {
		p.line("", plainInk, "A restore goes on with the next sample: nothing is read again.")
	} else {
		p.line("", plainInk, "A restore reads "+words.Plural(i.Again, "sample")+inBytes(i.Bytes)+
			" again: they were read, and are in no batch that was given.")
	}
	if i.WorldSize > 1 && i.InStep && len(i.Ranks) == 1 {
		p.line("", plainInk, "This state is enough for any rank of any world size.")
	}
}

// sourceLine tells of a source, or of its lanes together.
func sourceLine(all []inspectedSource) string {
	var position, beyond, again int64
	lost, bytes := 0, new(int64)
	for _, s := range all {
		position, beyond, again, lost = position+s.Position, beyond+s.Beyond, again+s.Again, lost+s.Lost
		bytes = sum(bytes, s.Bytes)
	}
	text := all[0].Name
	if all[0].Lane >= 0 {
		text += fmt.Sprintf(", lanes %d to %d", all[0].Lane, all[len(all)-1].Lane)
	}
	text += fmt.Sprintf(": %s done, %s%s to read again", words.Plural(position+beyond, "sample"), words.Thousands(again), inBytes(bytes))
	if lost > 0 {
		text += fmt.Sprintf(", %d lost", lost)
	}
	if n := all[0].Samples; n > 0 { // in all, whichever rank and lane has them
		text += ", of " + words.Thousands(n)
	}
	return text
}

// inBytes tells how many bytes samples have, if that is known and there are some.
func inBytes(bytes *int64) string {
	if bytes == nil || *bytes == 0 {
		return ""
	}
	return " (" + bytesize.Text(*bytes) + ")"
}
