-- SPDX-License-Identifier: MIT

-- Short forms of the calls about one sandbox, for specs that make many. get
-- gives the service of support/service.lua, which a spec starts later.

return function(get)
  local calls = {}

  -- POST /sandboxes/{id}/{what}, the deprecated connect included.
  function calls.post(id, what, body)
    return get():request("POST", "/sandboxes/" .. id .. "/" .. what, body)
  end

  function calls.connect(id, body)
    return get():request("POST", "/v2/sandboxes/" .. id .. "/connect", body)
  end

  -- What is known of it; nil and the error's body when it is gone.
  function calls.info(id)
    local status, body = get():request("GET", "/sandboxes/" .. id)
    return status == 200 and body or nil, body
  end

  return calls
end
