std = "lua54"
max_line_length = 80
cache = false
files["spec/**/*_spec.lua"] = { std = "lua54+busted" }
files["scripts"] = { globals = {} }
