package zipfile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"headrace/internal/npy"
	"headrace/sample"
	"headrace/shard"
	"headrace/shard/internal/packed"
)

// array is one of an npz whose rows can be fields.
type array struct {
	name       string
	at         int64 // of the first row
	each, rows int64
}

// rows makes a sample of the rows of each number.
func (s *scan) rows(ctx context.Context, all []member) error {
	var arrays []array
	var why error // none is one
	for i := range all {
		name, isArray := strings.CutSuffix(string(all[i].name), ".npy")
		if !isArray {
			continue
		}
		a, err := s.array(name, &all[i])
		if err == nil {
			arrays = append(arrays, a)
			continue
		}
		var e *shard.Error
		if errors.As(err, &e) && errors.Is(err, shard.ErrUnsupported) {
			s.found.Refuse(name, e.Err.Error())
			if why == nil {
				why = err
			}
			continue
		}
		return err
	}
	if len(arrays) == 0 {
		if why == nil {
			why = shard.Wrong(s.file, -1, shard.ErrUnsupported, "the file has no arrays")
		}
		return why
	}
	return s.together(ctx, arrays)
}

// together makes samples of the rows of arrays that have equally many.
func (s *scan) together(ctx context.Context, arrays []array) error {
	first := arrays[0]
	for _, a := range arrays {
		if a.rows != first.rows {
			return shard.Wrong(s.file, a.at, shard.ErrUnsupported, "array %q has %d rows, and %q has %d", first.name, first.rows, a.name, a.rows)
		}
	}
	for i := range first.rows {
		if i%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		s.found.Sample(nil)
		for _, a := range arrays {
			s.found.Part([]byte(a.name), a.at+i*a.each, a.each)
		}
	}
	return nil
}

// array reads the header of a member.
func (s *scan) array(name string, m *member) (a array, err error) {
	head, err := s.head(m)
	if err != nil {
		return a, err
	}
	l, err := npy.ReadLayout(head)
	if err != nil {
		return a, shard.Wrong(s.file, m.header, shard.ErrUnsupported, "array %q: %v", name, err)
	}
	if int64(l.At)+l.Size != m.size {
		return a, shard.Wrong(s.file, m.header, shard.ErrCorrupt, "array %q has %d bytes, and its member %d", name, int64(l.At)+l.Size, m.size)
	}
	a.name, a.at = name, m.data+int64(l.At)
	if a.rows, a.each, err = l.Rows(); err != nil {
		return a, shard.Wrong(s.file, m.header, shard.ErrUnsupported, "array %q: %v", name, err)
	}
	s.found.Type(name, sample.TensorType(l.DType(), l.Shape[1:]...))
	return a, nil
}

// head is the beginning of a member, unpacked.
func (s *scan) head(m *member) ([]byte, error) {
	wrong := func(err error) error {
		return shard.Wrong(s.file, m.header, shard.ErrCorrupt, "%q: %v", m.name, err)
	}
	r, err := packed.NewReader(codecs[m.method], io.NewSectionReader(s.file, m.start, m.packed))
	if err != nil {
		return nil, wrong(err)
	}
	defer r.Close() // it was opened for reading
	head := make([]byte, min(m.size, int64(npy.MaxHeader)))
	if n, err := io.ReadFull(r, head); err != nil {
		return nil, wrong(fmt.Errorf("after %d bytes: %w", n, err))
	}
	return head, nil
}
