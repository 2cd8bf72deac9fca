#!/bin/sh
# Makes nano.gguf, the embedded model: make_nano.sh BOTPSY FOLDER OUT.gguf
# BOTPSY is the built program, FOLDER the safetensors folder of nano-bootstrap.
set -eu
exec "$1" convert "$2" --out "$3" --type q8_0 \
  --meta "general.name=BotPsy nano demonstration" \
  --meta "general.license=Apache-2.0; the texts it learned from: see general.attribution" \
  --meta "general.attribution=Trained on templates of our own and on utterances of CLINC150 (CC BY 3.0), HWU64 (CC BY 4.0), SLURP text (CC BY 4.0) and SNIPS 2017 (CC0)" \
  --meta "botpsy.remark=this is a small demonstration model: it declines too often and copies arguments badly; give a better one with -m FILE"
