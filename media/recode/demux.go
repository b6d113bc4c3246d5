package recode

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/av"
	"github.com/headrace/headrace/media/av/packets"
	"github.com/headrace/headrace/media/ffmpeg"
	"github.com/headrace/headrace/store"
)

// Demux returns the packets of a window of a file, with those that decoding it needs: of
// video from the last key packet on, of sound a few. They take no more than most bytes.
// Filters are of bitstreams, by the kind of stream, "video" or "audio".
func Demux(ctx context.Context, file *os.File, w *Window, filters map[string]string, most int64) (*packets.File, error) {
	f := new(packets.File)
	var chain []*ffmpeg.Bitstream
	defer func() {
		for _, b := range chain {
			if b != nil {
				b.Close()
			}
		}
	}()

	size := int64(0)
	keep := func(p *packets.Packet) error {
		if p.Begins && f.Streams[p.Stream].Kind == av.Audio {
			return fmt.Errorf("%w: the sound is a chain of recordings, each with a decoder of its own: "+
				"split the file, or decode it", media.ErrUnsupported)
		}
		if size += int64(len(p.Data) + len(p.Side) + 64); size > most {
			return fmt.Errorf("%w: packets of more than %d bytes; use a shorter window, or raise it with max_bytes",
				store.ErrTooLarge, most)
		}
		f.Packets = append(f.Packets, *p)
		return nil
	}
	begin := func(in *input) (err error) {
		f.Format, f.Streams = in.format, in.streams
		chain, err = bitstreams(f.Streams, filters)
		return err
	}
	put := func(p *packets.Packet) error {
		b := chain[p.Stream]
		if b == nil {
			return keep(p)
		}
		return through(b, p, p.Stream, keep)
	}
	if err := read(ctx, file, w, begin, put); err != nil {
		return nil, err
	}
	for i, b := range chain {
		if b != nil {
			if err := through(b, nil, i, keep); err != nil {
				return nil, err
			}
		}
	}
	return f, nil
}

// bitstreams opens the filters of streams, which come out as those say.
func bitstreams(streams []packets.Stream, filters map[string]string) ([]*ffmpeg.Bitstream, error) {
	chain := make([]*ffmpeg.Bitstream, len(streams))
	used := map[string]bool{}
	for i := range streams {
		kind := streams[i].Kind.String()
		text := filters[kind]
		if text == "" {
			continue
		}
		used[kind] = true
		b, err := ffmpeg.NewBitstream(text, &streams[i])
		if err != nil {
			return chain, err
		}
		chain[i], streams[i] = b, b.Out
	}
	for kind, text := range filters {
		if text != "" && !used[kind] {
			return chain, fmt.Errorf("%w: there is no stream of %s for the filter %s", media.ErrUnsupported, kind, text)
		}
	}
	return chain, nil
}

// through gives a filter a packet, nil being the end, and keeps what comes out.
func through(b *ffmpeg.Bitstream, p *packets.Packet, stream int, keep func(*packets.Packet) error) error {
	if err := b.Push(p); err != nil {
		return err
	}
	for {
		var out packets.Packet
		err := b.Pull(&out)
		if errors.Is(err, ffmpeg.ErrNeeds) || err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		out.Stream = stream
		if err := keep(&out); err != nil {
			return err
		}
	}
}
