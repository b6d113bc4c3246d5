package shard

import (
	"fmt"

	"github.com/headrace/headrace/internal/words"
	"github.com/headrace/headrace/sample"
)

// sniffed is what the first records have.
type sniffed struct {
	fields   sample.Schema
	as       map[string]As
	optional func(sample.Type) bool
	records  int64
	has      map[string]int64  // records that have a value
	open     map[string]bool   // whose type was not told so far
	refused  map[string]string // why something is no field
	alike    bool              // all records have the same fields
}

// look adds what a record has.
func (s *sniffed) look(p Parser, record []byte) (err error) {
	l, ok := p.(Lenient)
	if !ok {
		if s.records == 0 {
			s.fields, err = p.Schema(record)
		}
		if err != nil {
			return err
		}
		s.alike = true
		return nil
	}

	s.optional = l.Optional
	seen, err := l.Seen(record)
	if err != nil {
		return err
	}
	for _, f := range seen {
		switch {
		case f.Refused != "":
			s.refused[f.Name] = f.Refused
		case f.Open:
			s.open[f.Name] = true
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

// finish refuses fields whose type nothing has told.
func (s *sniffed) finish() {
	for name := range s.open {
		if s.fields.Find(name) < 0 && s.refused[name] == "" {
			s.refused[name] = fmt.Sprintf("it has no value in the first %s, so its type is not known: "+
				"give it, as in fields={%q: (%q, \"float64\")}", words.Plural(s.records, "record"), name, name)
		}
	}
}

// Gap is why a field of the first records cannot be read together with all others.
type Gap struct {
	Why string
	Has int64 // of Of records, those that have it, where that is the reason
	Of  int64
}

// gaps are those of the fields.
func (s *sniffed) gaps() map[string]Gap {
	all := map[string]Gap{}
	for name, why := range s.refused {
		all[name] = Gap{Why: why}
	}
	for _, f := range s.fields {
		if has := s.has[f.Name]; !s.alike && has < s.records && all[f.Name].Why == "" && !s.optional(f.Type) {
			all[f.Name] = Gap{Has: has, Of: s.records}
		}
	}
	return all
}
