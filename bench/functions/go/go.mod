module example.com/parser

go 1.21
