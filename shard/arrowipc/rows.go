package arrowipc

import (
	"fmt"
	"slices"

	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/shard/internal/names"
)

// message reads a message.
func (s *scan) message(m message) error {
	s.at = m.at
	t, err := s.metadata(m)
	if err != nil {
		return err
	}
	if m.head == headerSchema {
		return s.readSchema(t.table(2))
	}
	if !s.hasSchema {
		return s.wrong("rows come before the schema")
	}
	b, err := s.newBatch(m, batchOf(t))
	if err != nil {
		return err
	}
	if m.head == headerDictionary {
		return s.dictionary(b, t.table(2).int64(0), t.table(2).byte(2) != 0)
	}

	before := map[*field]string{}
	walkLeaves(s.schema, func(f *field) { before[f] = f.refused })
	for _, f := range s.schema {
		s.column = "column " + f.name + ": "
		if err := b.array(f, nil, nil, b.rows); err != nil {
			return err
		}
	}
	s.column = ""
	for f, was := range before {
		if f.refused != was && f.name != "" {
			s.found.Refuse(f.name, f.refused)
		}
	}
	return s.emit(b.rows)
}

// dictionary reads the values that indexes refer to.
func (s *scan) dictionary(b *batch, id int64, more bool) error {
	f := dictionaryOf(s.schema, id)
	if f == nil {
		return s.wrong("dictionary %d belongs to no column", id)
	}
	if f.layout == children || f.refused != "" {
		s.dictionaries[id] = &values{}
		return nil
	}
	f.values = values{}
	f.dictionary = nil

	b.named = f.meaning == asText
	s.column = fmt.Sprintf("dictionary %d: ", id)
	if err := b.array(f, nil, nil, b.rows); err != nil {
		return err
	}
	if b.named && f.refused == "" {
		if err := b.name(id, f.values.spans); err != nil {
			return err
		}
	}
	s.column = ""
	v := f.values
	v.refused = f.refused
	if have := s.dictionaries[id]; more && have != nil {
		have.join(&v)
		return nil
	}
	s.dictionaries[id] = &v
	return nil
}

// name collects the texts of a dictionary.
func (b *batch) name(id int64, texts []span) error {
	set := b.names[id]
	if set == nil {
		set = new(names.Set)
		b.names[id] = set
	}
	size := int64(0)
	for _, s := range texts {
		size += s.n
	}
	if size > names.MostBytes || len(texts) > names.Most {
		set.TooBig = true
		return nil
	}

	raw := make([][]byte, len(b.bases))
	for _, s := range texts {
		if s.at < 0 {
			continue
		}
		k := slices.IndexFunc(b.bases, func(of base) bool { return s.at >= of.at && s.n <= of.size-(s.at-of.at) })
		if k < 0 {
			return b.wrong("a text is in none of its buffers")
		}
		if raw[k] == nil {
			var err error
			if raw[k], err = b.raw(b.bases[k].buf, b.bases[k].size); err != nil {
				return err
			}
		}
		set.Add(raw[k][s.at-b.bases[k].at:][:s.n])
	}
	return nil
}

// logicalOf returns the meaning of the text of a dictionary.
func (s *scan) logicalOf(f *field) *sample.Logical {
	set := s.names[f.id]
	if set == nil || set.TooBig {
		return nil
	}
	return &sample.Logical{Name: sample.Dictionary, Names: set.All}
}

// dictionaryOf returns the field that a dictionary's values are of.
func dictionaryOf(all []*field, id int64) *field {
	for _, f := range all {
		if f.dictionary != nil && f.id == id {
			d := *f.dictionary
			return &d
		}
		if d := dictionaryOf(f.children, id); d != nil {
			return d
		}
	}
	return nil
}

// emit gives the rows of a batch to the index.
func (s *scan) emit(rows int) error {
	if int64(s.found.Len())+int64(rows) > 1<<20+rowsPerByte*min(s.f.Size(), 1<<50) {
		return s.wrong("more rows than a file of %d bytes has", s.f.Size())
	}
	var parts, numbers []*field
	var names [][]byte
	walkLeaves(s.schema, func(f *field) {
		switch {
		case f.refused != "" || f.empty:
		case f.meaning == asInt || f.meaning == asFloat:
			numbers = append(numbers, f)
		default:
			parts, names = append(parts, f), append(names, []byte(f.name))
		}
	})

	for row := range rows {
		s.found.Sample(nil)
		for i, f := range parts {
			if p := f.values.spans[row]; p.at >= 0 {
				s.found.Part(names[i], p.at, p.n)
			}
		}
	}
	for _, f := range numbers {
		v := &f.values
		absent := v.absent[:min(rows, len(v.absent))]
		if f.meaning == asInt {
			s.found.AddInts(f.name, v.ints[:rows], absent)
		} else {
			s.found.AddFloats(f.name, v.floats[:rows], absent)
		}
	}
	return nil
}
