package video

import (
	"io"

	"github.com/headrace/headrace/media/av"
	headers "github.com/headrace/headrace/media/av/slices"
)

// fromFirstKey leaves out what cannot be decoded because the file begins in the middle of
// a group, as recordings of broadcasts do: packets before the first key packet, and those
// that come after it, are displayed before it and refer to what is not there. Where
// packets have no marks, all stay.
func (v *Video) fromFirstKey(packets []av.Packet) error {
	key := 0
	for key < len(packets) && !packets[key].Key {
		key++
	}
	if key == len(packets) {
		return nil
	}
	for i := range key {
		packets[i].Discard = true
	}

	orphan := headers.Orphan(v.Stream.Codec, v.Stream.Config)
	first := &packets[key]
	var head []byte
	for i := key + 1; i < len(packets) && !packets[i].Key && orphan != nil; i++ {
		p := &packets[i]
		if p.PTS >= first.PTS {
			if p.DTS >= first.PTS { // what follows is displayed later, too
				return nil
			}
			continue
		}
		if head == nil {
			var err error
			if head, err = v.bytes(first); err != nil {
				return err
			}
		}
		data, err := v.bytes(p)
		if err != nil {
			return err
		}
		p.Discard = p.Discard || orphan(head, data)
	}
	return nil
}

// bytes reads a packet; of one that is cut off what there is.
func (v *Video) bytes(p *av.Packet) ([]byte, error) {
	size := v.file.Size()
	if at := p.Offset - size; at >= 0 {
		return v.extra[min(at, int64(len(v.extra))):min(at+int64(p.Size), int64(len(v.extra)))], nil
	}
	data := make([]byte, min(int64(p.Size), size-p.Offset))
	n, err := v.file.ReadAt(data, p.Offset)
	if err == io.EOF {
		err = nil
	}
	return data[:n], err
}
