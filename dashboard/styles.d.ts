/** CSS modules: class names by the names in the file. */
declare module '*.module.css' {
  const names: Readonly<Record<string, string>>;
  export default names;
}
declare module '*/base.css' {}
