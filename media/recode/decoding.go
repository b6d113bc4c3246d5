package recode

import (
	"fmt"
	"io"

	"headrace/media"
	"headrace/media/av"
	"headrace/media/av/packets"
	"headrace/media/ffmpeg"
)

// decoding is a stream on its way from a file into its decoder.
type decoding struct {
	packets *puller
	stream  *packets.Stream
	decoder *ffmpeg.Decoder
	ended   bool // no packet follows
}

// choose takes the stream that was asked for, of which there has to be one.
func (d *decoding) choose(kind av.Kind, name string) error {
	if len(d.packets.streams) != 1 || d.packets.streams[0].Kind != kind {
		return fmt.Errorf("%w: needs one stream of %s, not %s", media.ErrUnsupported, name, list(d.packets.streams))
	}
	d.stream = &d.packets.streams[0]
	return nil
}

// packet returns the next packet. After the last one ok is false, and the decoder is told
// that none follows.
func (d *decoding) packet() (p packets.Packet, ok bool, err error) {
	p, err = d.packets.take()
	if err != io.EOF {
		return p, err == nil, err
	}
	if d.ended {
		return p, false, io.ErrUnexpectedEOF
	}
	d.ended = true
	return p, false, d.decoder.Feed(nil, nil, true)
}

func (d *decoding) close() {
	d.packets.close()
	if d.decoder != nil {
		d.decoder.Close()
	}
}
