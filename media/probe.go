package media

// Probe reads the header of an image, without decoding anything; it tells formats by
// their content. For an image that is valid but cannot be decoded, the error is
// ErrUnsupported or ErrTooLarge and Info is filled in all the same. It allocates
// nothing, except where EXIF is compressed in a text chunk of a PNG.
//
// Orientation is the one that Pillow's exif_transpose follows: EXIF's, where that says
// none XMP's; of AVIF that of its own properties alone. TIFF, which Pillow turns by
// itself, is described as it is stored, too.
func Probe(data []byte) (Info, error) {
	for _, f := range known() {
		if f.Begins(data) {
			info, err := f.Probe(data)
			if err == nil {
				err = checkSize(f.Title, info.Width, info.Height)
			}
			return info, err
		}
	}
	return Info{}, unknown(data)
}

func init() {
	formats.all.Store(&[]Format{
		{JPEG, "JPEG", []string{".jpg", ".jpeg", ".jpe", ".jfif"}, isJPEG, probeJPEG},
		{PNG, "PNG", []string{".png"}, isPNG, probePNG},
		{WebP, "WebP", []string{".webp"}, isWebP, probeWebP},
		{AVIF, "AVIF", []string{".avif"}, isAVIF, probeAVIF},
		{GIF, "GIF", []string{".gif"}, isGIF, probeGIF},
		{BMP, "BMP", []string{".bmp"}, isBMP, probeBMP},
		{TIFF, "TIFF", []string{".tif", ".tiff"}, isTIFF, probeTIFF},
	})
}
