package zipfile

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/headrace/headrace/internal/npy"
	"github.com/headrace/headrace/sample"
	"github.com/headrace/headrace/shard"
	"github.com/headrace/headrace/shard/internal/packed"
)

// array is one of an npz whose rows can be fields.
type array struct {
	name       string
	at         int64 // of the first row
	each, rows int64
	is         sample.Type // of a row
}

// rows makes a sample of the rows of each number. Arrays that have no such rows are
// refused, and the others are read.
func (s *scan) rows(ctx context.Context, all []member) error {
	var arrays []array
	first := "" // reason
	for i := range all {
		name, isArray := strings.CutSuffix(string(all[i].name), ".npy")
		if !isArray {
			continue
		}
		a, why, err := s.array(name, &all[i])
		if err != nil {
			return err
		}
		if why == nil {
			arrays = append(arrays, a)
			continue
		}
		reason := strings.TrimPrefix(why.Error(), "npy: ")
		s.found.Refuse(name, reason)
		if first == "" {
			first = fmt.Sprintf("array %q: %s", name, reason)
		}
	}
	if len(arrays) == 0 {
		return shard.Wrong(s.file, -1, shard.ErrUnsupported, "%s", cmp.Or(first, "the file has no arrays"))
	}
	return s.together(ctx, arrays)
}

// wholeFiles tells the user how to read arrays without rows.
const wholeFiles = "; hr.files(…).decode_npz() makes each file a sample, with all its arrays"

// together makes samples of the rows of arrays that have equally many: as many as most
// have, or of two numbers that are as frequent, the first. Other arrays are refused.
func (s *scan) together(ctx context.Context, arrays []array) error {
	times := map[int64]int{}
	first := arrays[0]
	for _, a := range arrays {
		times[a.rows]++
	}
	for _, a := range arrays {
		if times[a.rows] > times[first.rows] {
			first = a
		}
	}
	arrays = slices.DeleteFunc(arrays, func(a array) bool {
		if a.rows == first.rows {
			return false
		}
		s.found.Refuse(a.name, fmt.Sprintf("it has %d rows, and %q has %d%s", a.rows, first.name, first.rows, wholeFiles))
		return true
	})
	if err := packed.Samples(s.file, first.rows); err != nil {
		return err
	}
	for _, a := range arrays {
		s.found.Type(a.name, a.is)
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

// array reads the header of a member. Why is what keeps the array from having rows that
// can be read.
func (s *scan) array(name string, m *member) (a array, why, err error) {
	head, err := s.head(m)
	if err != nil {
		return a, nil, err
	}
	l, why := npy.ReadLayout(head)
	if why != nil {
		if _, err := npy.ReadForm(head); err == nil { // decode_npz reads it
			why = fmt.Errorf("%w%s", why, wholeFiles)
		}
		return a, why, nil
	}
	if int64(l.At)+l.Size != m.size {
		return a, nil, shard.Wrong(s.file, m.header, shard.ErrCorrupt, "array %q has %d bytes, and its member %d",
			name, int64(l.At)+l.Size, m.size)
	}

	a.name, a.at = name, m.data+int64(l.At)
	if a.rows, a.each, why = l.Rows(); why != nil {
		return a, fmt.Errorf("%w%s", why, wholeFiles), nil
	}
	a.is = sample.TensorType(l.DType(), l.Shape[1:]...)
	return a, nil, nil
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
