//go:build cgo

package main

import (
	"errors"
	"io"

	"github.com/headrace/headrace/internal/doctor"
	"github.com/headrace/headrace/media/avif"
	"github.com/headrace/headrace/media/ffmpeg"
	"github.com/headrace/headrace/media/sound/libflac"
	"github.com/headrace/headrace/media/tiff"
)

func init() {
	openAVIF = func() (version, codecs string, err error) {
		if version, err = avif.Version(); err != nil {
			return "", "", err
		}
		codecs, err = avif.Codecs()
		return version, codecs, err
	}
	openTIFF = tiff.Version
	openFFmpeg = func() (doctor.FFmpeg, error) {
		i, err := ffmpeg.Library()
		return doctor.FFmpeg{Version: i.Version, License: i.License, Path: i.Path, Decoders: i.Decoders}, err
	}
	libFLAC = libflac.Name()
	decodeRecording = decodeAll
}

// decodeAll decodes every packet of every track. A track without a frame is an error.
func decodeAll(data []byte) error {
	file, err := ffmpeg.Demux(data)
	if err != nil {
		return err
	}
	for i := range file.Tracks {
		if err := decodeTrack(file, &file.Tracks[i], data); err != nil {
			return err
		}
	}
	return nil
}

func decodeTrack(file *ffmpeg.File, track *ffmpeg.Track, data []byte) error {
	d, err := ffmpeg.NewDecoder(track.Decoding())
	if err != nil {
		return err
	}
	defer d.Close()

	var all []byte
	var packets []ffmpeg.Packet
	for i := range track.Packets {
		bytes := file.Bytes(data, &track.Packets[i])
		packets = append(packets, ffmpeg.Packet{Offset: len(all), Size: len(bytes), Key: track.Packets[i].Key})
		all = append(all, bytes...)
	}
	if err := d.Feed(all, packets, true); err != nil {
		return err
	}

	frames := 0
	for f := new(ffmpeg.Frame); ; frames++ {
		switch err := d.Next(f); {
		case err == io.EOF && frames == 0:
			return errors.New("no frame came")
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
	}
}
