/**
 * Writes a response to a file as it arrives. Where the browser lets a page write to a file that the reader chooses,
 * nothing of it stays in memory; elsewhere the browser collects it in a blob of its own.
 */
type Picker = (options: {suggestedName: string}) => Promise<{createWritable(): Promise<WritableStream<Uint8Array>>}>;

/** @returns where to write; null: the reader chose no file */
export async function chooseFile(name: string): Promise<((body: ReadableStream<Uint8Array>) => Promise<void>) | null> {
  const {showSaveFilePicker: pick} = window as {showSaveFilePicker?: Picker};
  if (pick === undefined) return body => download(name, body);
  try {
    const file = await (await pick({suggestedName: name})).createWritable();
    return body => body.pipeTo(file);
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') return null;
    throw error;
  }
}

async function download(name: string, body: ReadableStream<Uint8Array>): Promise<void> {
  const url = URL.createObjectURL(await new Response(body).blob());
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}
