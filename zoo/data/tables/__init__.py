"""Tables of named columns, as memory-mapped Arrow files: the sources hf, parquet, csv, jsonl and webdataset."""
