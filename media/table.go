package media

import (
	"fmt"

	"github.com/headrace/headrace/tensor"
)

// Table has the new value of each value of a channel.
type Table [256]uint8

// tableEffect returns an effect on bytes that depends on nothing but the value of a
// channel. Several in a row are one.
func tableEffect(name string, check func(a *Args) error, of func(a *Args) Table) Effect {
	return Effect{
		Name:  name,
		Check: checkBytes(name, check),
		Table: of,
		Apply: func(a *Args, p Pixels) Pixels {
			t := of(a)
			lookUp(p, &t)
			return p
		},
	}
}

// checkBytes is a check of arguments that refuses pixels of more than 8 bits, too.
func checkBytes(name string, check func(a *Args) error) func(a *Args, f Form) error {
	return func(a *Args, f Form) error {
		if f.DType != tensor.Uint8 {
			return fmt.Errorf("%w: %s of %v: must be uint8", ErrUnsupported, name, f.DType)
		}
		if check == nil {
			return nil
		}
		return check(a)
	}
}

// CountTables returns how many of the passes that a list begins with are tables.
func CountTables(passes []Pass) (n int) {
	for n < len(passes) && passes[n].Effect.Table != nil {
		n++
	}
	return n
}

// JoinTables makes one table of passes that all are.
func JoinTables(passes []Pass) Table {
	t := identity
	for i := range passes {
		next := passes[i].Effect.Table(&passes[i].Args)
		for v := range t {
			t[v] = next[t[v]]
		}
	}
	return t
}

// lookUp gives each value but alpha that of a table.
func lookUp(p Pixels, table *Table) { lookUpEach(p, [3]*Table{table, table, table}) }

// lookUpEach has a table for each channel.
func lookUpEach(p Pixels, tables [3]*Table) {
	n, colors := p.Color.Channels(), p.colors()
	for y := range p.Height {
		for row := p.Row(y); len(row) > 0; row = row[n:] {
			for c := range colors {
				row[c] = tables[c][row[c]]
			}
		}
	}
}

// countLevels counts the values of each channel but alpha.
func countLevels(p Pixels) (counts [3][256]int) {
	n, colors := p.Color.Channels(), p.colors()
	for y := range p.Height {
		for row := p.Row(y); len(row) > 0; row = row[n:] {
			for c := range colors {
				counts[c][row[c]]++
			}
		}
	}
	return counts
}

// spread changes each channel by a table that fill makes of how often it has each value;
// without one the channel stays as it is.
func spread(p Pixels, fill func(counts *[256]int, t *Table) bool) {
	counts := countLevels(p)
	var made [3]Table
	var tables [3]*Table
	changes := false
	for c := range p.colors() {
		tables[c] = &identity
		if fill(&counts[c], &made[c]) {
			tables[c], changes = &made[c], true
		}
	}
	if changes {
		lookUpEach(p, tables)
	}
}

var identity = func() (t Table) {
	for v := range t {
		t[v] = uint8(v)
	}
	return t
}()
