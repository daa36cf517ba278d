# From a profile of `go test -cover` to lcov: "MODULE/dir/file.go:5.20,7.3 2 1", with files as the cell sees them. A function
# is reached where a line of it is.
function put(file,    line, number, name, start, lines, hit, functions, reached, i) {
	print "TN:\nSF:" file
	number = functions = reached = lines = hit = 0
	while ((getline line < file) > 0) {
		number++
		if (line ~ /^func /) {
			name = line
			sub(/^func +(\([^)]*\) *)?/, "", name)
			sub(/[^A-Za-z0-9_].*/, "", name)
			starts[++functions] = number
			names[functions] = name
			hits[functions] = 0
		}
		if ((file, number) in counts && functions && counts[file, number] > hits[functions])
			hits[functions] = counts[file, number]
	}
	close(file)
	for (i = 1; i <= functions; i++) {
		print "FN:" starts[i] "," names[i] "\nFNDA:" hits[i] "," names[i]
		reached += hits[i] > 0
	}
	print "FNF:" functions "\nFNH:" reached
	for (i = 1; i <= number; i++)
		if ((file, i) in counts) {
			print "DA:" i "," counts[file, i]
			lines++
			hit += counts[file, i] > 0
		}
	print "LF:" lines "\nLH:" hit "\nend_of_record"
}

NR > 1 && index($1, module) == 1 && $1 !~ /of_hotcell/ {
	colon = match($1, /:[0-9]+\.[0-9]+,[0-9]+\.[0-9]+$/)
	if (!colon)
		next
	file = root substr($1, length(module) + 1, colon - length(module) - 1)
	split(substr($1, colon + 1), ends, /[.,]/)
	if (!(file in known)) {
		known[file] = 1
		order[++files] = file
	}
	for (i = ends[1]; i <= ends[3] && i < ends[1] + 100000; i++)
		if (!((file, i) in counts) || counts[file, i] < $3)
			counts[file, i] = $3 + 0
}

END {
	for (f = 1; f <= files; f++)
		put(order[f])
}
