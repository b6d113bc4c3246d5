package flac

// Decoder decodes frames of a file, in any order. It is used by one goroutine at a time.
type Decoder interface {
	// Decode writes the samples of a frame as float32 from -1 to 1, those of all channels
	// at one time side by side. To has room for just as many.
	Decode(to []float32, frame []byte) error
	// Close gives back memory besides Go's.
	Close()
}

// NewDecoder makes a decoder for a file; nil: no library was registered.
var NewDecoder func(*File) (Decoder, error)

// Use registers a library that decodes. It is to be called before anything is opened.
func Use(open func(*File) (Decoder, error)) { NewDecoder = open }
