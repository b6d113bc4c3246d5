//go:build cgo

package main

import "headrace/media/avif"

func init() {
	openAVIF = func() (version, codecs string, err error) {
		if version, err = avif.Version(); err != nil {
			return "", "", err
		}
		codecs, err = avif.Codecs()
		return version, codecs, err
	}
}
