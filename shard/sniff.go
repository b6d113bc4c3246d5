package shard

import (
	"context"
	"fmt"
)

// sniffs bounds how many records tell what fields there are, and sniffBytes how much.
const (
	sniffs     = 100
	sniffBytes = 1 << 20
)

// sniff looks at the first records.
func (d *Dataset) sniff() (*sniffed, error) {
	s := &sniffed{as: map[string]As{}, has: map[string]int64{}, refused: map[string]string{}, open: map[string]bool{}}
	read := 0
	for i := int64(0); i < d.Len() && s.records < sniffs && read < sniffBytes; i++ {
		if !d.hasPart(i, "") {
			continue
		}
		b, err := d.part(context.Background(), i, "")
		if err == nil {
			read += len(b)
			err = d.look(s, i, b)
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
	s.finish()
	return s, nil
}

// look adds what a sample's record has.
func (d *Dataset) look(s *sniffed, i int64, record []byte) error {
	n, _ := d.index.Find(i)
	segment, err := d.segment(n)
	if err != nil {
		return err
	}
	p, err := d.parserOf(n, segment)
	if err != nil {
		return err
	}
	if _, ok := p.(Textual); ok && d.replaces {
		record = Replaced(record)
	}
	if err := s.look(p, record); err != nil {
		return fmt.Errorf("%s: %w", d.shards[n].key, err)
	}
	return nil
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
		if err != nil || !b.Plain() && b.Size > d.blocks.limit/2 {
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
	return s.gaps(), nil
}
