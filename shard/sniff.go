package shard

import (
	"context"
	"fmt"

	"headrace/internal/words"
	"headrace/sample"
	"headrace/shard/index"
)

// sniffs bounds how many records tell what fields there are, and sniffBytes how much.
const (
	sniffs     = 100
	sniffBytes = 1 << 20
)

// sniffed is what the first records have.
type sniffed struct {
	fields   sample.Schema
	as       map[string]As
	optional func(sample.Type) bool
	records  int64
	has      map[string]int64  // records that have a value
	refused  map[string]string // why something is no field
	alike    bool              // all records have the same fields
}

// sniff looks at the first records.
func (d *Dataset) sniff() (*sniffed, error) {
	s := &sniffed{as: map[string]As{}, has: map[string]int64{}, refused: map[string]string{}}
	open := map[string]bool{}
	read := 0
	for i := int64(0); i < d.Len() && s.records < sniffs && read < sniffBytes; i++ {
		if !d.hasPart(i, "") {
			continue
		}
		b, err := d.part(context.Background(), i, "")
		if err == nil {
			read += len(b)
			err = d.look(s, i, b, open)
		}
		if err != nil && s.records > 0 { // a bad sample, which is said when it is read
			continue
		}
		if err != nil {
			return nil, err
		}
		if s.records++; s.alike || d.costly(i) {
			break
		}
	}
	for name := range open {
		if s.fields.Find(name) < 0 && s.refused[name] == "" {
			s.refused[name] = fmt.Sprintf("it has no value in the first %s, so its type is not known: give it, as in fields={%q: (%q, \"float64\")}", words.Plural(s.records, "record"), name, name)
		}
	}
	return s, nil
}

// look adds what a record has.
func (d *Dataset) look(s *sniffed, i int64, record []byte, open map[string]bool) error {
	n, _ := d.index.Find(i)
	segment, err := d.segment(n)
	if err != nil {
		return err
	}
	p, err := d.parserOf(n, segment)
	if err != nil {
		return err
	}
	l, ok := p.(Lenient)
	if !ok {
		if s.records == 0 {
			s.fields, err = p.Schema(record)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", d.shards[n].key, err)
		}
		s.alike = true
		return nil
	}

	s.optional = l.Optional
	seen, err := l.Seen(record)
	if err != nil {
		return fmt.Errorf("%s: %w", d.shards[n].key, err)
	}
	for _, f := range seen {
		switch {
		case f.Refused != "":
			s.refused[f.Name] = f.Refused
		case f.Open:
			open[f.Name] = true
		case s.fields.Find(f.Name) < 0:
			s.fields = append(s.fields, f.Field)
			if s.as[f.Name] = AsFound; f.Source {
				s.as[f.Name] = AsSource
			}
		}
		if f.Refused == "" && !f.Null {
			s.has[f.Name]++
		}
	}
	if s.records == 0 && len(s.refused) == len(seen) { // the record itself may be one
		s.fields, err = p.Schema(record)
	}
	return err
}

// costly tells whether a sample is in a block too large to be kept, so that another one
// would unpack it again.
func (d *Dataset) costly(i int64) bool {
	n, in := d.index.Find(i)
	s, err := d.segment(n)
	if err != nil || s.Blocks() == 0 {
		return false
	}
	parts, err := s.Parts(in, nil)
	if err != nil || len(parts) == 0 {
		return true
	}
	all, _, _, err := s.Covering(parts[0].At, parts[0].Len, nil)
	for _, b := range all {
		if err != nil || b.Codec != index.Stored && b.Size > d.blocks.limit/2 {
			return true
		}
	}
	return false
}

// untyped is why a field of records has no type that is known; "": it is none of them.
func (d *Dataset) untyped(name string) (string, error) {
	s, err := d.sniffed()
	if err != nil {
		return "", err
	}
	return s.refused[name], nil
}

// foundAs tells how a field of records is read that has the type of its first value.
func (d *Dataset) foundAs(name string) As {
	s, err := d.sniffed()
	if err != nil {
		return AsFound
	}
	return max(s.as[name], AsFound)
}

// Gap is why a field of the first records cannot be read together with all others.
type Gap struct {
	Why string
	Has int64 // of Of records, those that have it, where that is the reason
	Of  int64
}

// Gaps are the fields of the first records that have no type, or that not all of these
// have. Of formats whose samples are no records there are none.
func (d *Dataset) Gaps() (map[string]Gap, error) {
	if !d.hasRecords() || d.Len() == 0 {
		return nil, nil
	}
	s, err := d.sniffed()
	if err != nil {
		return nil, err
	}
	all := map[string]Gap{}
	for name, why := range s.refused {
		all[name] = Gap{Why: why}
	}
	for _, f := range s.fields {
		if has := s.has[f.Name]; !s.alike && has < s.records && all[f.Name].Why == "" && !s.optional(f.Type) {
			all[f.Name] = Gap{Has: has, Of: s.records}
		}
	}
	return all, nil
}
