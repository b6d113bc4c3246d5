package headrace

import _ "headrace/media/stills" // every program that runs a recipe can decode all formats, whatever else it links
