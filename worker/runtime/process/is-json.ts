/** Checks that text sent by a process as JSON is JSON, because it becomes part of a response unchanged. */
export function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
