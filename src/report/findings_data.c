/* Findings for programs and spreadsheets: JSON and CSV. */
#include <stdio.h>
#include <string.h>

#include "base/own.h"
#include "base/utf8.h"
#include "report/findings_private.h"

/* ---- JSON ---- */

/* Where the files of those lie that have some: bytes of inputs, and what was said. */
static void put_files(const struct findings *findings, struct json *json)
{
	json_key(json, "files");
	json_open(json, '{');
	for (size_t i = 0; findings->capsule_folder && i < findings->count; i++) {
		own(freep) char *folder = xfmt("%s/%s", findings->capsule_folder, findings->list[i]->id);
		if (findings->list[i]->binary)
			json_put_string(json, findings->list[i]->id, folder);
	}
	json_close(json, '}');
}

void findings_json(const struct findings *findings, struct buf *out)
{
	own(json_done) struct json json = {.pretty = true};

	json_open(&json, '{');
	json_put_string(&json, "format", FINDINGS_FORMAT);
	json_put_string(&json, "version", findings->version);
	json_key(&json, "findings");
	json_open(&json, '[');
	for (size_t i = 0; i < findings->count; i++)
		capsule_write(findings->list[i], &json);
	json_close(&json, ']');
	json_key(&json, "limitations");
	json_open(&json, '[');
	for (size_t i = 0; findings->gaps && i < findings->gaps->count; i++)
		json_string(&json, findings->gaps->items[i]);
	json_close(&json, ']');
	put_files(findings, &json);
	json_close(&json, '}');
	buf_add(out, json.out.data, json.out.len);
	buf_char(out, '\n');
}

/* ---- CSV, by RFC 4180 ---- */

/* A spreadsheet takes a cell that begins like this for a formula, and does what it says. */
static bool is_formula(const char *text)
{
	return *text && strchr("=+-@\t\r\n", *text);
}

/* C0 but for tabs and ends of lines, DEL, and C1. */
static bool is_control(const char *text, int size)
{
	unsigned char first = (unsigned char)text[0];

	if (size == 2)
		return first == 0xc2 && (unsigned char)text[1] < 0xa0;
	return size == 1 && (first == 0x7f || (first < 0x20 && first != '\t' && first != '\n' && first != '\r'));
}

static void put_text(struct buf *out, const char *text)
{
	buf_char(out, '"');
	if (is_formula(text))
		buf_char(out, '\'');
	for (size_t len = strlen(text); len > 0;) {
		int size = utf8_char(text, len);
		if (*text == '"')
			buf_str(out, "\"\"");
		else if (size <= 0)
			buf_str(out, "\xef\xbf\xbd");
		else if (is_control(text, size)) /* somebody will print the file on a terminal */
			buf_fmt(out, "\\x%02x", (unsigned char)text[size - 1]);
		else
			buf_add(out, text, (size_t)size);
		text += size <= 0 ? 1 : size;
		len -= size <= 0 ? 1 : (size_t)size;
	}
	buf_char(out, '"');
}

static void put_cell(struct buf *out, const char *text)
{
	put_text(out, text ? text : "");
	buf_char(out, ',');
}

static void put_number(struct buf *out, unsigned long long number)
{
	buf_fmt(out, "%llu,", number);
}

static void put_date(struct buf *out, int64_t seconds)
{
	own(buf_done) struct buf date = {0};

	finding_date(seconds, &date);
	put_cell(out, seconds > 0 ? buf_text(&date) : "");
}

static void put_texts(struct buf *out, const struct strings *texts)
{
	own(buf_done) struct buf all = {0};

	for (size_t i = 0; i < texts->count; i++)
		buf_fmt(&all, "%s%s", i ? "\n" : "", texts->items[i]);
	put_cell(out, buf_text(&all));
}

static void put_row(const struct findings *findings, const struct finding *finding, struct buf *out)
{
	struct finding_weakness weakness = finding_weakness(finding);
	own(buf_done) struct buf command = {0};

	put_cell(out, finding->id);
	put_cell(out, severity_name(weakness.severity));
	put_cell(out, severity_level(weakness.severity));
	put_cell(out, finding->oracle);
	put_number(out, (unsigned long long)weakness.cwe);
	put_cell(out, finding->target);
	put_cell(out, finding->subject);
	put_cell(out, finding->message);
	put_cell(out, finding->file);
	put_number(out, finding->line);
	put_cell(out, finding_state_now(finding, findings->now));
	put_cell(out, finding->reason);
	put_date(out, finding->until);
	put_number(out, finding->seen);
	put_number(out, finding->tried);
	put_date(out, finding->first_seen);
	put_date(out, finding->last_seen);
	put_number(out, finding->times);
	put_texts(out, &finding->evidence);
	put_cell(out, finding->binary ? "base64" : "json");
	put_cell(out, finding->input);
	put_cell(out, finding->found);
	finding_words(&finding->command, &command);
	put_cell(out, buf_text(&command));
	out->data[--out->len] = '\0'; /* the last comma */
	buf_str(out, "\r\n");
}

void findings_csv(const struct findings *findings, struct buf *out)
{
	buf_str(out,
		"id,severity,level,oracle,cwe,target,subject,message,file,line,state,reason,until,seen,tried,first_seen,last_seen,times,"
		"evidence,input_kind,input,found,command\r\n");
	for (size_t i = 0; i < findings->count; i++)
		put_row(findings, findings->list[i], out);
}
