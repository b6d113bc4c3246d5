package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/headrace/headrace/internal/doctor"
	"github.com/headrace/headrace/internal/version"
	"github.com/headrace/headrace/media"
)

func versionCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the version, the commit, and what is linked in",
		Long: `Print the version, the commit, the CPU instructions used for pixels, what decodes and writes each ` +
			`format, and which FFmpeg decodes video.
Pixels depend on the decoders: include this in bug reports.`,
		Example: `  headrace version
  headrace version --json | jq -r .features.decoders.jpeg`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			about := describeBuild()
			if asJSON {
				return printJSON(c.OutOrStdout(), about)
			}
			return about.print(c.OutOrStdout())
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print it as JSON")
	return c
}

// description is what the program was built from, and what it opens on this machine.
type description struct {
	version.Build
	FFmpeg      *doctor.FFmpeg `json:"ffmpeg"` // nil: there is none
	FFmpegError string         `json:"ffmpeg_error,omitempty"`
}

func describeBuild() description {
	d := description{Build: version.Here()}
	if openFFmpeg == nil {
		d.FFmpegError = "only programs with C open FFmpeg"
		return d
	}
	found, err := openFFmpeg()
	if err != nil {
		d.FFmpegError = strings.TrimPrefix(err.Error(), media.ErrUnsupported.Error()+": ")
		return d
	}
	d.FFmpeg = &found
	return d
}

func (d *description) print(w io.Writer) error {
	kind, kernels := "", d.Features.Kernels
	if !d.Features.Cgo {
		kind += ", without C"
	}
	if d.Features.Debug {
		kind += ", debug build"
	}
	if kernels == "" {
		kernels = "plain Go"
	}
	video := "none: " + d.FFmpegError
	if d.FFmpeg != nil {
		video = d.FFmpeg.Version + ", " + d.FFmpeg.License + ", " + d.FFmpeg.Path
	}
	_, err := fmt.Fprintf(w, "headrace %s (commit %s, %s, %s%s)\npixels:   %s\ndecoders: %s\nencoders: %s\nffmpeg:   %s\n",
		d.Version, d.Commit, d.Platform, d.Go, kind, kernels, pairs(d.Features.Decoders), pairs(d.Features.Encoders), video)
	return err
}

func pairs(of map[string]string) string {
	var s []string
	for _, k := range slices.Sorted(maps.Keys(of)) {
		s = append(s, k+"="+of[k])
	}
	return strings.Join(s, " ")
}
