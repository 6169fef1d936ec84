// Has the AsyncAPI project's own parser read a document: node .ci/asyncapi.mjs FILE. Fails where it finds an error; what
// it merely recommends is counted.
import { readFileSync } from "node:fs";
import parser from "@asyncapi/parser";

const [file] = process.argv.slice(2);
const { document, diagnostics } = await new parser.Parser().parse(readFileSync(file, "utf8"));
const errors = diagnostics.filter(({ severity }) => severity === 0);
for (const { path, message } of errors) {
  console.error(`${file}: ${path.join(".")}: ${message}`);
}
if (errors.length > 0 || document === undefined) {
  console.error(`${file}: refused by the AsyncAPI parser, errors: ${errors.length}`);
  process.exit(1);
}
const counts = `channels: ${document.channels().length}, operations: ${document.operations().length}`;
const remarks = diagnostics.length - errors.length;
console.log(`${file}: valid AsyncAPI ${document.version()} (${counts}, remarks: ${remarks})`);
