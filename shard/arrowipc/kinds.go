package arrowipc

// Types as metadata numbers them.
const (
	typeNull          = 1
	typeInt           = 2
	typeFloat         = 3
	typeBinary        = 4
	typeText          = 5
	typeBool          = 6
	typeDecimal       = 7
	typeDate          = 8
	typeTime          = 9
	typeTimestamp     = 10
	typeInterval      = 11
	typeList          = 12
	typeStruct        = 13
	typeUnion         = 14
	typeFixedBinary   = 15
	typeFixedList     = 16
	typeMap           = 17
	typeDuration      = 18
	typeLargeBinary   = 19
	typeLargeText     = 20
	typeLargeList     = 21
	typeRunEnd        = 22
	typeBinaryView    = 23
	typeTextView      = 24
	typeListView      = 25
	typeLargeListView = 26
)

// Schemas deeper or wider than these are no one's.
const (
	maxDepth   = 32
	mostFields = 1 << 16
)

const (
	magic        = "ARROW1"
	continuation = 0xffffffff
)

// Kinds of messages.
const (
	headerSchema     = 1
	headerDictionary = 2
	headerBatch      = 3
)
