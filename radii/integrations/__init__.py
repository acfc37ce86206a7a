"""An export's transforms where texts are embedded: sentence-transformers, LangChain, LlamaIndex."""
