package arrows

// An arrow allows package from to import package to. Paths inside the module are written without its name, "." is its
// root; a path with a dot in its first element is another module, and the arrow covers all packages of it.
type arrow struct {
	from, to string
	reason   string
}

var arrows = []arrow{
	{"arena", "budget", "a pool of slots is held for a whole life, and the byte budget has to know"},
	{"arena", "golang.org/x/sys", "memfd, seals, mmap"},

	{"sample", "tensor", "a field's value is a tensor"},

	{"internal/version", "media", "what decodes and writes each format"},

	{"internal/leak", "arena", "tests end with no segment open"},
	{"internal/leak", "go.uber.org/goleak", "and with no goroutine"},

	{"pipe/pipetest", "pipe", "the suite that every source has to pass"},

	{"group", "pipe", "what it makes are aggregators of the engine"},

	{"store", "golang.org/x/sys", "files are read without Go's network poller"},

	{"media", "tensor", "pixels have a dtype"},
	{"media", "media/internal/orient", "the same turns and mirrors for every decoder"},
	{"media", "media/internal/resample", "the same weights for every decoder"},
	{"media", "internal/scratch", "whole pictures are decoded into memory that is used again"},
	{"media/turbo", "media", "it implements the decoder contract"},
	{"media/turbo", "media/internal/orient", "the same turns and mirrors for every decoder"},
	{"media/turbo", "media/internal/resample", "the same weights for every decoder"},
	{"media/turbo", "media/internal/samples", "the same channels and depths from every decoder"},
	{"media/turbo", "internal/scratch", "what has no place of its own goes through memory that is used again"},
	{"media/turbo", "tensor", "pixels have a dtype"},
	{"media/turbo", "C", "libjpeg-turbo; the one place where C is called"},

	{"media/spng", "media", "it implements the decoder contract"},
	{"media/spng", "media/internal/samples", "the same channels and depths from every decoder"},
	{"media/spng", "internal/scratch", "what has no place of its own goes through memory that is used again"},
	{"media/spng", "tensor", "pixels have a dtype"},
	{"media/spng", "C", "libspng"},

	{"media/avif", "media", "it implements the decoder contract"},
	{"media/avif", "media/internal/samples", "the same channels and depths from every decoder"},
	{"media/avif", "internal/scratch", "what has no place of its own goes through memory that is used again"},
	{"media/avif", "tensor", "pixels have a dtype"},
	{"media/avif", "C", "libavif, opened when the first picture comes"},

	{"media/webp", "media", "it implements the contracts of decoder and encoder"},
	{"media/webp", "tensor", "pixels have a dtype"},
	{"media/webp", "media/internal/samples", "the same channels and depths from every decoder"},
	{"media/webp", "internal/scratch", "what has no place of its own goes through memory that is used again"},
	{"media/webp", "media/internal/webpfile", "the first frame of an animation, found the same way"},
	{"media/webp", "C", "libwebp"},

	{"media/stills", "media", "it implements the decoder contract, for formats that need no C"},
	{"media/stills", "media/internal/samples", "the same channels and depths from every decoder"},
	{"media/stills", "media/internal/webpfile", "the first frame of an animation, found the same way"},
	{"media/stills", "tensor", "pixels have a dtype"},
	{"media/stills", "golang.org/x/image", "TIFF and WebP"},

	{"media/internal/webpfile", "media", "errors and sizes are its own"},

	{"internal/oracle", "internal/tier", "it starts a process, which quick runs leave out"},

	{"media/internal/pixeltest", "media", "the suites that decoders of whole pictures have to pass"},
	{"media/internal/pixeltest", "tensor", "pixels have a dtype"},
	{"media/internal/pixeltest", "internal/oracle", "against pixels from elsewhere"},

	{"media/internal/decodertest", "media", "the suite that every decoder has to pass"},
	{"media/internal/decodertest", "tensor", "pixels have a dtype"},
	{"media/internal/decodertest", "media/internal/testjpeg", "on files of every layout"},
	{"media/internal/decodertest", "internal/oracle", "against pixels from elsewhere"},
	{"media/internal/decodertest", "pgregory.net/rapid", "and on random ones"},

	{"media/internal/hostile", "media", "files that mean harm, for every decoder"},
	{"media/internal/hostile", "media/internal/pixeltest", "pixels are compared as every format's suite does"},
	{"media/internal/hostile", "media/internal/testjpeg", "made from pictures of every layout"},
	{"media/internal/hostile", "internal/oracle", "and of every format"},
	{"media/internal/hostile", "tensor", "of every depth"},

	{"recipe", "sample", "a schema flows along the edges of the graph"},
	{"recipe", "tensor", "schemas name dtypes and shapes"},
	{"recipe", "github.com/goccy/go-yaml", "recipes in files are YAML"},
	{"recipe", "media", "image operations know what they do to a shape"},
	{"recipe/fuse", "recipe", "it rewrites the steps of a recipe"},
	{"recipe/fuse", "media", "into one plan that a decoder carries out"},
	{"recipe/fuse", "order", "random operations get their names in the draws' key"},
	{"recipe/fuse", "sample", "which image a step works on follows from the fields there are"},
	{"recipe/fuse", "tensor", "steps can go on with stored pixels of some dtypes"},

	{"internal/numbers", "tensor", "elements have a type"},

	{"internal/npy", "tensor", "arrays have a type and a shape"},

	{"internal/sheet", "internal/numbers", "elements of every type are shown"},
	{"internal/sheet", "media", "pixels are what it takes and gives"},
	{"internal/sheet", "tensor", "of tensors of every type it makes pictures"},
	{"internal/sheet", "golang.org/x/image", "letters are drawn"},
	{"internal/sheet", "golang.org/x/text", "which of them stand from right to left"},

	{"internal/doctor", "internal/bytesize", "amounts of memory for people"},
	{"internal/doctor", "internal/machine", "what a process may use of the machine"},
	{"internal/doctor", "internal/version", "what is linked into it"},
	{"internal/doctor", "arena", "shared memory is made as for a batch"},
	{"internal/doctor", "wire", "and passed on as a batch is"},
	{"internal/doctor", "media", "every decoder and encoder is tried"},
	{"internal/doctor", "tensor", "pixels have a dtype"},
	{"internal/doctor", "golang.org/x/sys", "instructions of the processor, limits, seals"},

	{"stats", "pipe", "it turns the engine's numbers into text"},
	{"stats", "internal/bytesize", "amounts of memory as every command writes them"},

	{"wire", "golang.org/x/sys", "descriptors travel with SCM_RIGHTS"},

	{".", "arena", "the top: decoded rows lie in slots"},
	{".", "internal/scratch", "the top: pictures between passes lie in memory that is used again"},
	{".", "internal/bytesize", "the top: amounts of memory in recipes"},
	{".", "internal/machine", "the top: defaults from what the machine has"},
	{".", "extern", "the top: functions of Python are stages"},
	{".", "group", "the top: what goes into a batch together"},
	{".", "internal/npy", "the top: arrays in files"},
	{".", "internal/numbers", "the top: padding has the type of what it stands behind"},
	{".", "budget", "the top: one budget for all who hold memory"},
	{".", "media", "the top: a decoder has the shape of a stage"},
	{".", "media/stills", "the top: formats that need no C"},
	{".", "order", "the top: which sample comes when"},
	{".", "pipe", "the top: the engine that runs a recipe"},
	{".", "recipe", "the top: what the user wrote down"},
	{".", "recipe/fuse", "the top: as the engine should run it"},
	{".", "sample", "the top: what travels through the engine"},
	{".", "stats", "the top: a loader's numbers, with text"},
	{".", "store", "the top: where the bytes lie"},
	{".", "tensor", "the top: what a batch consists of"},

	{"serve", "internal/scratch", "what tasks read lies in memory that is used again"},
	{"serve", "store", "tasks read files"},
	{"serve", "tensor", "and make pixels of some dtype"},
	{"serve", ".", "a session runs a loader"},
	{"serve", "arena", "slots are what a session hands over"},
	{"serve", "budget", "its errors get a code of the protocol"},
	{"serve", "extern", "the client says which Python calls its functions"},
	{"serve", "internal/preview", "a client may ask for a contact sheet"},
	{"serve", "internal/machine", "usable cores, for the gate that all sessions share; what to do where a trace cannot be written"},
	{"serve", "internal/version", "the greeting names it"},
	{"serve", "media", "the engine says once when it decodes without C"},
	{"serve", "pipe", "failures and epochs become messages"},
	{"serve", "recipe", "a session begins with one"},
	{"serve", "sample", "the identity of a sample goes into the crash page and into errors"},
	{"serve", "stats", "statistics are sent as text too"},
	{"serve", "wire", "it speaks the protocol"},
	{"serve", "golang.org/x/sys", "pidfd of the parent, the crash page's mapping, truncating the last words"},

	{"extern", "tensor", "what functions are given and return are arrays"},
	{"extern", "sample", "in the fields of samples"},
	{"extern", "wire", "workers are spoken to in its frames"},
	{"extern", "internal/machine", "whether the kernel ended a worker for lack of memory"},
	{"extern", "golang.org/x/sys", "memory that is shared, sockets, waiting for processes"},

	{"internal/preview", ".", "the first samples are those of a run"},
	{"internal/preview", "internal/sheet", "and a sheet is drawn of them"},
	{"internal/preview", "media", "pictures have a layout"},
	{"internal/preview", "pipe", "epochs end"},
	{"internal/preview", "recipe", "every sample is a batch of its own"},
	{"internal/preview", "sample", "which field is a picture, and what was wrong with a sample"},
	{"internal/preview", "tensor", "labels have a type"},

	{"internal/export", ".", "batches of a loader become files, and its state says how far they are"},
	{"internal/export", "media", "pictures in shards are files of their formats"},
	{"internal/export", "recipe", "keys are names of files, of any bytes"},
	{"internal/export", "sample", "a field is a tensor or text"},
	{"internal/export", "tensor", "arrays have a type and a shape"},
	{"internal/export", "internal/npy", "and files of NumPy's format"},
	{"internal/export", "golang.org/x/sys", "one process writes at a time: flock"},

	{"cmd/headrace", ".", "recipes are run, and their decoders named"},
	{"cmd/headrace", "extern", "what functions of Python print stands beside the bar of headrace run"},
	{"cmd/headrace", "internal/export", "headrace run --out"},
	{"cmd/headrace", "recipe", "mistakes in a recipe have an exit code of their own"},
	{"cmd/headrace", "golang.org/x/sys", "whether a terminal reads, and how wide it is"},
	{"cmd/headrace", "C", "the limit of addresses is looked at before Go starts, which is before Go code can"},
	{"cmd/headrace", "internal/doctor", "headrace doctor"},
	{"cmd/headrace", "internal/bytesize", "amounts of memory in flags"},
	{"cmd/headrace", "internal/numbers", "inspect tells the least and the greatest value"},
	{"cmd/headrace", "internal/preview", "headrace preview draws the first samples, and inspect looks at them"},
	{"cmd/headrace", "internal/version", "headrace version"},
	{"cmd/headrace", "internal/machine", "bench says how many cores there are, and tries up to so many workers; what to do where a file cannot be written"},
	{"cmd/headrace", "media", "inspect looks at the headers of the first samples"},
	{"cmd/headrace", "pipe", "epochs end, and bench cuts statistics into slices"},
	{"cmd/headrace", "sample", "inspect shows the schema on every edge"},
	{"cmd/headrace", "stats", "bench says what limits"},
	{"cmd/headrace", "store", "inspect reads the files of the first samples"},
	{"cmd/headrace", "tensor", "inspect looks at the numbers of the first samples"},
	{"cmd/headrace", "serve", "headrace serve"},
	{"cmd/headrace", "media/avif", "only the program links C, no package does"},
	{"cmd/headrace", "media/spng", "only the program links C, no package does"},
	{"cmd/headrace", "media/turbo", "only the program links C, no package does"},
	{"cmd/headrace", "media/webp", "only the program links C, no package does"},
	{"cmd/headrace", "github.com/spf13/cobra", "subcommands and their flags"},
	{"cmd/headrace", "github.com/spf13/pflag", "flags that several commands have"},
}
