package recode

import (
	"fmt"
	"io"

	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/media/av"
	"github.com/headrace/headrace/media/av/packets"
	"github.com/headrace/headrace/media/ffmpeg"
)

// decoding is a stream on its way from a file into its decoder.
type decoding struct {
	packets *puller
	stream  *packets.Stream
	decoder *ffmpeg.Decoder
	choice  av.Choice
	ended   bool            // no packet follows, or another recording does
	follows *packets.Packet // it begins another recording: the decoder gives what it holds before
}

// choose takes the stream that was asked for, of which there has to be one.
func (d *decoding) choose(kind av.Kind, name string) error {
	if len(d.packets.streams) != 1 || d.packets.streams[0].Kind != kind {
		return fmt.Errorf("%w: needs one stream of %s, not %s", media.ErrUnsupported, name, list(d.packets.streams))
	}
	d.stream = &d.packets.streams[0]
	return nil
}

// packet returns the next packet. After the last one of a recording ok is false, and the
// decoder is told that none follows.
func (d *decoding) packet() (p packets.Packet, ok bool, err error) {
	if d.ended {
		return p, false, io.ErrUnexpectedEOF
	}
	if p, err = d.packets.take(); err == nil {
		if !p.Begins {
			return p, true, nil
		}
		d.follows = &p
	} else if err != io.EOF {
		return p, false, err
	}
	d.ended = true
	return p, false, d.decoder.Feed(nil, nil, true)
}

// another opens the decoder of the recording that follows, if one does, and returns its
// first packet.
func (d *decoding) another(decoder ffmpeg.Stream) (p packets.Packet, ok bool, err error) {
	if d.follows == nil {
		return p, false, nil
	}
	p, d.follows, d.ended = *d.follows, nil, false
	if s := p.Other; s != nil {
		t := ffmpeg.Track{Stream: s.Stream, Reorder: s.Reorder, Siting: s.Siting, Block: s.Block, Bits: s.Bits, BitRate: s.BitRate}
		decoder = t.Decoding()
		decoder.Choice = d.choice
	}
	d.decoder.Close()
	d.decoder, err = ffmpeg.NewDecoder(decoder)
	return p, err == nil, err
}

func (d *decoding) close() {
	d.packets.close()
	if d.decoder != nil {
		d.decoder.Close()
	}
}
