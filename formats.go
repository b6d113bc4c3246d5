package headrace

// Formats that are decoded without C are always there; programs import what decodes with C.
import _ "headrace/media/stills"
